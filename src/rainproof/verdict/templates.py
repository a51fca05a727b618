"""The words of every statement, by its key; here alone is what verdicts say.

A template has places for values: {name}, {name.part} for a part of a value, {name!u} and {name!l}
for a value that begins with a large or a small letter. A pair is for one and for several of its
{count}. A key with ", classes" behind it is for several classes, where they need other words.
Nothing is formatted here, and nothing is decided.
"""

from __future__ import annotations

from collections.abc import Mapping

from rainproof.inference.assumptions import INDEPENDENT, KEEPS_RANKING, SAME_GIVEN_OUTCOME

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "python": {
        "other_event": "pos_label",
        "own_maps": "Recalibrator().fit(p, y, by=...)",
        "groups": "groups=",
        "costs": "task=",
        "base_rate": "base_rate=",
        "max_weight": "max_weight=",
    },
    "shell": {
        "other_event": "--pos-label",
        "own_maps": "rainproof recalibrate with --by",
        "groups": "--groups",
        "costs": "--cost-fp and --cost-fn",
        "base_rate": "--base-rate",
        "max_weight": "--max-weight",
    },
}

_STAKES = "what is at stake per case (best minus worst outcome)"
_JUDGED = "judged on rows that they were not fitted to."
_FORESIGHT = "of what perfect foresight would gain over no forecast"

_PARTS: Mapping[str, str | tuple[str, str]] = {
    # Numbers of things.
    "rows": ("1 row", "{count} rows"),
    "these_rows": ("this row", "these {count} rows"),
    "groups": ("1 group", "{count} groups"),
    "segments": ("1 segment", "{count} segments"),
    "names_and_more": "{names} and {more} more",
    "nothing": "",
    # Ways of acting: as heads of columns, inside a sentence, and as names.
    "head as is": "as they are",
    "head recalibrated": "recalibrated",
    "head cut-off": "best cut-off",
    "head cut-off from": "best cut-off {cutoff}",
    "head always": "always",
    "head at random": "at random",
    "head never": "never",
    "head perfect": "perfect",
    "doing as is": "as they are",
    "doing recalibrated": "recalibrated",
    "doing cut-off": "best cut-off",
    "doing always": "always acting",
    "doing at random": "acting at random",
    "doing never": "never acting",
    "doing perfect": "perfect",
    "way as is": "forecast as it is",
    "way recalibrated": "recalibrated",
    "way cut-off": "best cut-off",
    "way always": "always act",
    "way at random": "act at random",
    "way never": "never act",
    "way perfect": "perfect foresight",
    "way of always": "always {action}",
    "name": "{way!u}",
    "cutoff_from": "Best cut-off (act from {cutoff} on)",
    "cutoff_never": "Best cut-off (never act)",
    # How predictions are off.
    "where_on_average": "they say {predicted} on average, it happens {observed}",
    "where_in_places": "where they say {predicted}, it happens {observed}",
    "mismatch none": "{where}",
    "mismatch uneven": "off in places: {where}",
    "mismatch too high": "too high: {where}",
    "mismatch too low": "too low: {where}",
    "mismatch too extreme": "too extreme: {where}",
    "mismatch too timid": "too timid: {where}",
    "off": "these probabilities are {mismatch} (not chance: {p})",
    "still_off": "they are {mismatch} (not chance: {p})",
    "some_classes_off": (
        "1 of {classes} classes is off ({names})",
        "{count} of {classes} classes are off ({names})",
    ),
    "all_classes_off": (
        "All {count} classes is off ({names})",
        "All {count} classes are off ({names})",
    ),
    "off, classes": "{classes_off}. {worst} is {mismatch} (not chance: {p})",
    "still_off, classes": "{classes_off}. {worst} is {mismatch} (not chance: {p})",
    "reversal": "the higher the probability, the rarer it is (AUROC {auroc_roughly})",
    # Which decisions.
    "in_range": " {range}",
    "about_one_class": " about one class",
    "decision": "decision that gains most",
    "decision_like": "decision that gains most (such as: act from {gain_threshold} on)",
    "decision_in_range": "decision {range} that gains most",
    "decision_in_range_like": (
        "decision {range} that gains most (such as: act from {gain_threshold} on)"
    ),
    "decision_at": "decision {range}",
    "decision, classes": "decision about {gain_class} that gains most",
    "where_in_task": "in your task",
    "where_per_case": "at the threshold of each case",
    "where_own": "at your threshold, {threshold}",
    "where_nearest": "at the threshold {nearest}, of your range the nearest to the event rate",
    "where_rate": "at the threshold {observed}, the event rate",
    "where_named": "in naming the class, where a hit counts the more the rarer its class is",
    "where_within_capacity": "{where}, within the capacity",
    # Skill and gains.
    "span": "{low} to {high}",
    "span_of_one_draw": "no interval: all weight is on one group or row",
    "span_of_none": "no interval: no row is treated wrongly",
    "gains_about": (
        "recalibrating gains about {gain.value} of what is at stake ({gain.low} to {gain.high})"
    ),
    "gains_perhaps": (
        "recalibrating gains about {gain.value} of what is at stake (nothing, or at most "
        "{most}: {level} interval)"
    ),
    "gains_at_most": "recalibrating gains at most {most} of what is at stake ({level} interval)",
    "rare_events": (
        "; events are rare: even perfect foresight gains at most {rarer} over no forecast"
    ),
    "rare_others": (
        "; cases without the event are rare: even perfect foresight gains at most {rarer} over "
        "no forecast"
    ),
    "over_always_or_never": "the better of always and never acting",
    "over_random_or_never": "the better of acting at random and never acting",
    "over_fixed": "the best fixed action",
    "skill_raw": "; as they are {skill_as_is}",
    # Costs.
    "less_not_established": ", which is less by the estimates, but that is not established",
    "less_but_skill": ", which is less by the estimates, but recalibrated they have skill",
    "less_unclear": "; it is not clear which is less",
    "cheaper_way": "{name} {amount} ({why})",
    "why_one_ratio": "for these costs alone",
    "why_next_to_nothing": "next to nothing is gained",
    "why_not_established": "not established",
    "why_any_decision": "correcting gains next to nothing in any decision",
    "why_not_rejected": "calibration is not rejected",
    "why_most_at_stake": "recalibration gains where most is at stake",
    "swap": "take {replacement} where you would take {action}",
    "cost_of_way": "{name} {cost}",
    # What is assumed.
    "no_heavier_row": "no row can weigh more than {most}, as stated",
    "no_heavier_group": "no group can weigh more than {most}, as stated",
    "fixed_sizes": f"sizes must {INDEPENDENT}, else state {{max_weight}}",
    "fixed_weights": (
        f"weights, such as survey or cost weights, must {INDEPENDENT}, else state {{max_weight}}"
    ),
    "fixed_both": f"sizes and weights must {INDEPENDENT}, else state {{max_weight}}",
    "fixed_sizes, classes": f"sizes must {INDEPENDENT}",
    "fixed_weights, classes": f"weights must {INDEPENDENT}",
    "fixed_both, classes": f"sizes and weights must {INDEPENDENT}",
    "and_sizes": "; {sizes}",
    "sizes_in_brackets": " ({sizes})",
    "in_groups": " in {groups}",
    "in_groups, classes": " in {so_many_groups}",
    "so_many_groups": "{clusters} groups",
}

_FIRST_SCREEN: Mapping[str, str | tuple[str, str]] = {
    # The headline.
    "one_outcome": "There is one outcome only: no verdict.",
    "one_outcome_by_weight": "By weight there is one outcome only: no verdict.",
    "reversed": "Check which outcome is the event: {reversal}.",
    "for_decisions": "For decisions {range}: {verdict!l}",
    "is_off": "{off!u}.",
    "is_still_off": "{still_off!u}.",
    "looks_off": "{mismatch!u}; that can be chance ({p}).",
    "looks_off_in_places": (
        "Where they say {worst_predicted}, it happened in {worst_events} of {worst_n} cases, "
        "but chance could do that ({p})."
    ),
    "no_grade": (
        "No grade: of compressed rows of unequal weight, skill, costs and a map "
        "cannot be estimated."
    ),
    "recalibrate_first": "Recalibrate first.",
    "mends": "Recalibrating mends that; whether it lowers your cost is not clear.",
    "may_not_pay": "For your costs it is not clear whether recalibrating pays.",
    "do_without": "Do without them.",
    "constant": "They say {predicted} for every case; it happens in {observed}.",
    "constant, classes": "They say the same for every case.",
    "useless": (
        "Where they are higher, the event is hardly more frequent, even recalibrated by the maps "
        "tried here."
    ),
    "useless, classes": (
        "They hardly tell the classes apart, even recalibrated by the maps tried here."
    ),
    "useless_in_range": "They gain next to nothing, even recalibrated by the maps tried here.",
    "useless_at_threshold": (
        "You can do without them: at your threshold ({threshold}) they gain next to nothing."
    ),
    "useless_in_task": "You can do without them: in your decision they gain next to nothing.",
    "useless_per_case": (
        "You can do without them: at the threshold of each case they gain next to nothing."
    ),
    "use_them": "Use them.",
    "no_sign": "{draws} show no sign of miscalibration: {mismatch} ({p}).",
    "no_clear_sign": "{draws} show no clear sign of miscalibration: {mismatch} ({p}).",
    "no_clear_sign, classes": (
        "{draws} show no clear sign of miscalibration in any of {classes} classes."
    ),
    "correcting_gains_little": "{still_off!u}, but correcting that gains next to nothing.",
    "correcting_costs": "{still_off!u}, but correcting that does not lower your cost.",
    "correcting_gains_elsewhere": (
        "{still_off!u}, but correcting that shows no gain in these decisions."
    ),
    "correcting_keeps_order": (
        "{still_off!u}, but correcting that is not shown to improve their order, which alone "
        "counts within your capacity."
    ),
    "too_few_to_correct": "{off!u}, but {draws} are too few to be sure that a correction helps.",
    "too_few_rows": "Too few rows to be sure ({drawn}).",
    "too_few_groups": "Too few groups to be sure ({drawn}).",
    "too_few_rows, classes": (
        "Too few rows to be sure ({drawn}): no class is clearly off, and no skill is shown."
    ),
    "too_few_groups, classes": (
        "Too few groups to be sure ({drawn}): no class is clearly off, and no skill is shown."
    ),
    "too_few_events": "Too few events to be sure ({events} in {draws}).",
    "too_few_others": "Too few cases without the event to be sure ({events} in {draws}).",
    # The reason.
    "all_outcomes": "All outcomes on {these_rows} are {only_outcome}.",
    "all_outcomes, classes": "All outcomes on {these_rows} are the same.",
    "almost_all_weight": (
        "Almost all of the weight of {these_rows} has the outcome {only_outcome}; the rest is "
        "too small to count."
    ),
    "cost_as_is": "Your cost is {now} per case; without them it is {without} ({simplest}){less}.",
    "cost_same": "Your cost is {before} per case, {doing} or as they are.",
    "cost_falls": (
        "Your cost falls from {before} to {now} per case, {doing} (saves {saves.low} to "
        "{saves.high})."
    ),
    "cost_unclear": (
        "Your cost is {before} per case as they are, {now} {doing}; it is not clear which is "
        "less (saves {saves.low} to {saves.high})."
    ),
    "cost_rises": (
        "Your cost is {before} per case as they are, {now} {doing}; that costs more (saves "
        "{saves.low} to {saves.high})."
    ),
    "cost_without": "Without them it is {without} ({simplest}){less}.",
    "cutoff_costs_least": (
        "Without a map: acting from {cutoff} on as they are costs least, {cutoff_cost} by the "
        "estimate."
    ),
    "cheaper": "Less by the estimates, but not advised: {ways}.",
    "as_cheap": "As much: {ways}.",
    "swaps": "By these rows: {swaps} (would have saved {saved} per case, in hindsight).",
    "swaps_without_map": (
        "Without a map: {swaps} (would have saved {saved} per case, in hindsight)."
    ),
    "gain": "In the {decision}, {gains}{foresight}.",
    "loses_at_most": (
        "Acting on them loses at most {bound} of what is at stake in any decision{which} "
        "({level} confidence){rarity}."
    ),
    "guarantees_nothing": (
        "{draws} guarantee nothing: the expected loss may be all that is at stake{rarity}."
    ),
    "constant_says_nothing": (
        "A constant says nothing about a single case that the event rate does not say."
    ),
    "constant_says_nothing, classes": (
        "A constant says nothing about a single case that the class frequencies do not say."
    ),
    "little_skill": (
        f"Recalibrated by the maps tried, they gain at most {{skill_most}} {_FORESIGHT} (upper "
        "end of a {skill_level} interval)."
    ),
    "skill_shown": "Skill {skill} ({skill_span}); 1 is perfect, 0 is none.",
    "skill_unclear": (
        "It is not clear whether they gain over no forecast: skill {skill} ({skill_span}); 1 is "
        "perfect, 0 is none."
    ),
    # The next step.
    "next": "Next: {step}",
    "next_with": "Next, with {name}: {step}",
    "get_both_outcomes": "get rows with both outcomes.",
    "get_both_outcomes, classes": "get rows of several classes.",
    "other_event": "Did you mean 1 - p, or the other outcome as the event ({pos_label})?",
    "check_event": "check which outcome is the event: {reversal}. {other_event}",
    "assess_rows": (
        "for a grade, assess rows that are not compressed: {many}, drawn at random, or fewer."
    ),
    "until_then": "Until then",
    "if_chosen_by_outcome": (
        "if rows were chosen by outcome ({observed} have the event), assess them again with the "
        "event rate where the forecast will be used ({base_rate}): all of this is about "
        "{observed}. Else"
    ),
    "use_another": "use another forecast.",
    "until_more_rows": "until there are more rows,",
    "until_more_groups": "until there are more groups,",
    "apply_map": "apply the map, then",
    "act_at_random": "act on {capacity} of the cases, whichever.",
    "always_take": "always take {action}.",
    "always_take, classes": "always {action}.",
    "always_act": "always act.",
    "never_act": "never act.",
    "act_by_rate": (
        "act always if you act from less than {observed} (the event rate) on, else never."
    ),
    "act_from_own": "act from your own threshold on ({example}).",
    "act_from_stated": "act from {range_low} on.",
    "act_between": "act from your own threshold on, between {range_low} and {range_high}.",
    "act_from": "act from {threshold} on.",
    "act_per_case": (
        "act on each case from its own threshold on: what a false alarm costs there, divided by "
        "what a false alarm and a miss cost together."
    ),
    "flags": "That flags {acted} of the cases.",
    "act_where_it_pays": (
        "act wherever it pays by the probabilities. That flags {acted} of the cases, less than "
        "your capacity of {capacity}."
    ),
    "act_on_highest": "act on the {capacity} of the cases with the highest probabilities.",
    "act_on_largest_gain": (
        "act on the {capacity} of the cases where it gains most (the probability times what a "
        "miss costs, less 1 minus the probability times what a false alarm costs)."
    ),
    "one_more": "One more case would gain about {one_more}, by the probabilities.",
    "one_more_recalibrated": (
        "One more case would gain about {one_more}, by the recalibrated probabilities."
    ),
    "take_best": "take the action that is best for the probability.",
    "take_cheapest": "take the action with the lowest expected cost.",
    "act_on_them": "act on them.",
    "example_even": "50% if a miss costs as much as a false alarm",
    "example_miss": "{at} if a miss costs {times} times a false alarm",
    "example_alarm": "{at} if a false alarm costs {times} times a miss",
    # What the numbers rest on.
    "grade": "Grade: {grade}.",
    "grade_for_costs": "Grade: {grade} (for your costs: as they are).",
    "grade_for_costs, classes": "Grade: {grade}.",
    "drawn": (
        "{rows}, taken as independent draws from the cases you will act on (rows that belong "
        "together: {groups_option}){and_sizes}."
    ),
    "drawn_given_outcomes": "{rows}, taken as independent draws given their outcomes.",
    "drawn_in_groups": "{rows}{in_groups}, taken as independent; {sizes}.",
    "costs_and_skill_estimated": "Costs and skill ({where}) are estimates{validated}.",
    "costs_estimated": "Costs are estimates{validated}.",
    "skill_estimated": "Skill ({where}) is an estimate{validated}.",
    "costs_and_skill_estimated, classes": "Costs, log loss and skill are estimates.",
    "skill_estimated, classes": "Log loss and skill are estimates.",
    "validated": " (recalibrated: cross-validated)",
    "validated_cutoff": " (recalibrated, best cut-off: cross-validated)",
    "range_costs": (
        "At a threshold t of the range a false alarm costs t, a miss 1 - t; every threshold "
        "counts the same."
    ),
    "population": f"All numbers are about {{population}}, if {SAME_GIVEN_OUTCOME}{{middle}}.",
    "middle_of_range": "; of a range, estimates are for {middle_rate}",
    "losses": (
        "Losses are shares of what is at stake{in_decisions}, proven at {level} "
        f"confidence{{held_out}}, {KEEPS_RANKING}."
    ),
    "losses, classes": (
        "Losses are shares of what is at stake in any decision about one class, proven at "
        f"{{level}} confidence for all classes at once{{held_out}}, {KEEPS_RANKING}."
    ),
    "in_decisions": " in decisions {range}",
    "held_out": (
        " (*: from {certified_rows} that the map was not fitted to, which prove less than all "
        "{all_rows})"
    ),
    "held_out, classes": " (*: from {certified_rows} the map was not fitted to)",
    "same_in_every_case": "Guarantees are about decisions whose costs are the same in every case.",
    # The answers to four questions.
    "question calibration": "Calibrated?",
    "question skill": "Skill",
    "question cost": "Your cost",
    "question loss": "Guarantee: loses",
    "direction none": "None",
    "direction uneven": "Uneven",
    "direction too high": "Too high",
    "direction too low": "Too low",
    "direction too extreme": "Too extreme",
    "direction too timid": "Too timid",
    "not_rejected": "No sign against it",
    "answer_calibration": "{where_off} ({p}).",
    "answer_skill": "recalibrated ({skill_span}), {where}; 1 is perfect, 0 is none.",
    "skill_value": "{skill}",
    "not_defined": "not defined",
    "answer_cost": "per case, {doing}.{entered}",
    "entered": " False alarm {false_alarm}, miss {miss}.",
    "entered_per_case": " Costs of each case.",
    "cost_value": "{cost}",
    "cost_change": "{before} \u2192 {now}",
    "answer_loss": (
        "of what is at stake in any decision{which}, acting on them as they are ({level} "
        "confidence)."
    ),
    "loss_value": "at most {capped_bound}",
    # The table.
    "line cost": "cost per case",
    "line mean cost": "cost per case, mean over the range",
    "line total": "cost in total",
    "line acted": "cases acted on",
    "line one more": "one more case gains",
    "line mean": "say on average (happens {observed})",
    "line skill": "skill (1 perfect, 0 none)",
    "line log loss": "log loss",
    "line loss": "any decision loses at most",
    "line loss in range": "these decisions lose at most",
    "line loss of class": "any decision about one class loses at most",
    "marked": "{value}*",
}

_DETAILS: Mapping[str, str | tuple[str, str]] = {
    "rejected": (
        "The test rejects perfect calibration ({p}{over_groups}): they are {mismatch}. If the "
        "probabilities were right, a mismatch as large as on these rows would be that unlikely."
    ),
    "not_rejected_by_test": (
        "The test does not reject perfect calibration ({p}{over_groups}): chance alone can "
        "explain the mismatch on these rows. That does not prove that the probabilities are "
        "right."
    ),
    "over_groups": ", over groups, approximately",
    "by_bets": ", by bets on whole clusters",
    "tested_classes": (
        "Each class is tested against the rest, {how}; p-values allow for the number of classes "
        "(Holm). {rejected} of {classes} classes are off. That the others are not does not "
        "prove that their probabilities are right."
    ),
    "exactly": "exactly",
    "approximately": "approximately",
    "no_skill": "Skill is not defined: {no_skill}",
    "one_outcome_alike": "all outcomes are the same.",
    "one_outcome_alike_by_weight": "all outcomes are the same, by weight.",
    "indivisible": "compressed rows of unequal weight cannot be divided.",
    "skill": (
        "Skill {skill} ({skill_span}), recalibrated{raw}: what acting on them gains over no "
        "forecast ({over}), as a share of what perfect foresight would gain, {where}. Maps "
        f"are {_JUDGED}"
    ),
    "auroc": "AUROC {auroc}.",
    "not_tried": "Recalibration was not tried: no map can be fitted to these rows.",
    "gain_estimated": (
        "Recalibration gains {gain} of what is at stake in the yes-or-no {best_decision} "
        "(estimate: maps and decision were chosen on other rows than those that judge them)."
    ),
    "map_of_all": (
        "The map is fitted to all rows, so nothing is proven of it: they are too few to spare some."
    ),
    "map_proven": (
        "Of the map itself, on {certified_rows} that it was not fitted to: {proven}, and every "
        "decision{which} loses at most {harm} by using it. Acting on the recalibrated "
        f"probabilities loses at most {{map_loss}} in any decision{{which}}, {KEEPS_RANKING}."
    ),
    "gain_proven": "there is a decision{which} that gains at least {gain_at_least}",
    "no_gain_proven": "no gain is proven",
    "costs": "Your decision, cost per case on {task_rows}, with approximate intervals: {costs}.",
    "costs_judged": f"Maps and cut-offs are {_JUDGED}",
    "bound": (
        "Acting on the probabilities as they are, with {level} confidence, the expected loss of "
        f"every decision{{which}}, whatever its costs, is at most {{bound}} of {_STAKES}, "
        f"{KEEPS_RANKING} (a map of the probability that never falls). On these rows it is "
        "{plug_in}; the rest allows for chance. This is an average over the "
        "population{these_came_from}; chance comes on top in any batch of new rows."
    ),
    "these_came_from": " that these rows came from",
    "no_bound": (
        "With {level} confidence these rows guarantee nothing: the expected loss may be all "
        "that is at stake."
    ),
    "rounded": "Rounded at random to multiples of 1/{grid}, {rounded_loss}.",
    "rounded_loss": (
        "the expected loss{of_these} is at most {rounded_bound}, compared with the best fixed "
        "change of actions ('where I would do this, do that'), monotone or not"
    ),
    "of_these": " of these decisions",
    "no_rounded_loss": "they have no guarantee either",
    "limits": (
        "Each statement holds with {level} confidence by itself, if the {drawn_so}; {intervals}."
    ),
    "drawn_independently": "{rows} were drawn independently{sizes_in_brackets}",
    "drawn_from_acted_on": (
        "{rows} were drawn independently from the cases that will be acted on{sizes_in_brackets}"
    ),
    "drawn_from_outcomes": (
        "{rows} were drawn independently given their outcomes{sizes_in_brackets}"
    ),
    "groups_drawn": "{clusters} groups of rows were drawn independently{sizes_in_brackets}",
    "intervals": "intervals do so approximately",
    "intervals_fixed": "intervals do so approximately, where weights are such as in these rows",
    "intervals_clustered": (
        "{intervals}; those, and the bands, of the charts treat rows as independent"
    ),
    "told": "{text}",
    "note": "Note: {text}.",
    "no_worth": (
        "What the forecast is worth was not computed: compressed rows of unequal weight cannot be "
        "divided."
    ),
    "worth_not_proven": (
        "These rows do not prove that there is a decision{which} that gains by this forecast "
        "over the better of always and never acting."
    ),
    "worth": (
        "With {level} confidence, there is {where} which this forecast, as it is, gains at "
        f"least {{at_least}} {_FORESIGHT} (the better of always and never acting), in expectation."
    ),
    "at_a_threshold": "a threshold at",
    "a_decision_for": "a decision {range} for",
}

_SEGMENTS: Mapping[str, str | tuple[str, str]] = {
    "segments_small": (
        "1 segment has too few rows to be tested.",
        "{count} segments have too few rows to be tested.",
    ),
    "all_say_more": "In all {count} they say more than happened.",
    "all_say_less": "In all {count} they say less than happened.",
    "segments_few_clusters": (
        "1 segment has too few clusters to tell anything but a very large difference: {fewest} "
        "has {few_clusters}.",
        "{count} segments have too few clusters to tell anything but a very large difference: "
        "{fewest} has {few_clusters}.",
    ),
    "few_events": "events in only {clusters} effective clusters",
    "few_others": "non-events in only {clusters} effective clusters",
    "of_segments": "{segments} ({by})",
    "no_segment_off": "None of {segments} is off beyond chance.",
    "segments_off": (
        "1 of {segments} is off beyond chance (false discovery rate {fdr}), most {worst}: says "
        "{predicted}, happens {observed}.",
        "{count} of {segments} are off beyond chance (false discovery rate {fdr}), most "
        "{worst}: says {predicted}, happens {observed}.",
    ),
    "all_segments_off": (
        "All {segments} are off beyond chance (false discovery rate {fdr}), most {worst}: says "
        "{predicted}, happens {observed}."
    ),
    "worst_after": "{name} (predicted {predicted} on average, observed {observed})",
    "after none": "After recalibration, none is off beyond chance.",
    "after some": (
        "After recalibration, {which} is off: {names}.",
        "After recalibration, {which} are off: {names}.",
    ),
    "after still": (
        "After recalibration, {which} is still off: {names}.",
        "After recalibration, {which} are still off: {names}.",
    ),
    "if none": "If it were recalibrated, none would be off beyond chance.",
    "if some": "If it were recalibrated, {which} would be off: {names}.",
    "if still": "If it were recalibrated, {which} would still be off: {names}.",
    "so_many": "{count} of {segments}",
    "all_of": "all {segments}",
    "own_maps": "To fit a map of its own to each that gains by it: {own_maps}.",
    "status small": "too few rows to be tested",
    "status few clusters": "too few clusters to tell: {few_clusters}",
    "status off": "miscalibrated beyond chance",
    "status off, after off": "miscalibrated beyond chance, also after recalibration",
    "status off, after calm": "miscalibrated beyond chance, but after recalibration no longer",
    "status calm": "no sign of miscalibration",
    "status calm, after off": "no sign of miscalibration, but after recalibration there is",
    "segment_order": "First come those where a decision can lose most.",
    "segments_alike": (
        "Where both shares are about the same, some probabilities are too high and others too low."
    ),
    "segments_after": "q after: of the recalibrated predictions (five-fold cross-validated).",
    # Advice at a threshold.
    "advice_limits": (
        "The better action is proven for all thresholds at once with {level} confidence, on "
        "average over each outlined range, if {drawn_so}."
    ),
    "no_advice": (
        "These rows do not prove any action better, at this threshold, than the one that the "
        "forecast says."
    ),
    "wait": (
        "For predictions from {low} to {high} do not act, although the forecast says to: the "
        "event rate there is below {threshold}."
    ),
    "act": (
        "For predictions from {low} to {high} act, although the forecast says not to: the event "
        "rate there is above {threshold}."
    ),
    "more_ranges": ("And 1 more such range.", "And {count} more such ranges."),
    "follow_elsewhere": "Elsewhere follow the forecast.",
    # SCDL by itself.
    "scdl_none": (
        "The probabilities match the outcomes of these rows as closely as can be measured: no "
        "decision that rests on them, whatever its costs, would gain by changing actions in "
        "hindsight."
    ),
    "scdl_large": (
        "That is too large to bound any loss: acting on these probabilities may lose up to all "
        "that is at stake per case, compared with the best change of actions in hindsight."
    ),
    "scdl": (
        "Round each probability {how} multiple of 1/{grid}, and act on the rounded value: then, "
        "on these rows, no decision, whatever its costs, loses more than {bound} of "
        f"{_STAKES}, compared with the best change of actions in hindsight."
    ),
    "rounded_soft": "at random to a neighbouring",
    "rounded_down": "down to a",
    "scdl_threshold": "Largest loss: decisions with a threshold between {low} and {high}.",
    "these_rows_only": (
        "This describes these rows only. Part of it is chance (the fewer the rows, the larger "
        "the part), and new rows can differ."
    ),
}

_FORECASTS: Mapping[str, str | tuple[str, str]] = {
    # Two of several forecasts.
    "not_paired": (
        "{a} and {b} are compared as independent samples: it is not known which rows belong "
        "together."
    ),
    "costs_alike": "{a} and {b} do not differ in cost beyond chance: by {by} per case.",
    "costs_less": "{better} costs less per case than {worse}: by {by}.",
    "switch": "From {old} to {new}: {gain}, none loses more than {harm}.",
    "switch_gains": "there is a decision{which} that gains at least {at_least} of what is at stake",
    "switch_not_proven": "no gain is proven",
    "not_proven": "not proven",
    "pairs_all": "All forecasts as they are.",
    "pairs_costs": "What a switch saves: all intervals hold at once with about {level} confidence.",
    "pairs_switches": (
        "Gains and losses: there is a decision{which} that gains at least, and none that loses "
        "more than, this share of what is at stake by the switch; all bounds hold at once with "
        "{level} confidence."
    ),
    "pairs_independent": "Rows (or groups) must be independent, and no forecast fitted on them.",
    "pairs_sizes": "{sizes!u}.",
    # Which one to take.
    "of_forecast": "{name}: {verdict}",
    "without_by_cost": (
        "Do without them: none of {forecasts} forecasts gains you anything over {doing}, {cost} "
        "per case."
    ),
    "without": (
        "Do without them: none of {forecasts} forecasts tells cases with the event from others."
    ),
    "take_best_forecast": (
        "Take {taken}: a switch to it gains more in one decision{which} than it loses in any."
    ),
    "take_least_brier": (
        "Take {taken}: its Brier score (the cost averaged over {every}) is the least, "
        "{size}{estimated}{as_good}."
    ),
    "every_threshold": "all thresholds",
    "every_threshold_also": "all thresholds, also those outside the range",
    "other_for_costs": "For your own costs it may be another ({costs}).",
    "take_for_costs": (
        "For your costs, take {taken}: {size}, the least of {forecasts} forecasts{clear}{as_good}."
    ),
    "take_recalibrated": "For your costs, take {taken}: {size}{estimated}{as_good}.",
    "taken_recalibrated": "{name}, recalibrated",
    "per_case": "{cost} per case",
    "an_estimate": " (an estimate)",
    "take_not_clear": "; it is not clear whether it costs less than all others",
    "as_good": "; as good: {names}",
    "none_gains_as_is": (
        "As they are, none gains you anything: {doing} costs {simple_cost} per case, the "
        "cheapest of them, {first}, {first_cost} per case."
    ),
    "least_as_is": "As they are, {first} costs least, {first_cost} per case.",
    "least_as_is_unclear": "As they are, {first} costs least (not clear), {first_cost} per case.",
    # The tables.
    "column from": "from",
    "column to": "to",
    "column saves": "saves per case",
    "column gains": "gains at least",
    "column loses": "loses at most",
    "column forecast": "forecast",
    "column cost": "cost per case",
    "column recalibrated": "recalibrated",
    "column brier": "Brier",
    "column log": "log",
    "column auroc": "AUROC",
    "column grade": "grade",
    "reference": "({name})",
    "about_scores": (
        "Recalibrated: estimates, by maps that were fitted to other rows. Brier, log: lower is "
        "better."
    ),
    "about_infinite": (
        "log inf: an event was given probability 0, or a case without it probability 1."
    ),
}

_REPORT: Mapping[str, str | tuple[str, str]] = {
    "who_loses": (
        "Who loses most: decisions that act from about {threshold} on. On these rows their net "
        "benefit is {old} per case; recalibrated it would be {new} (cross-validated)."
    ),
    "at_stake": (
        "At stake: best minus worst outcome of a case. No forecast: the better of always and never "
        "acting."
    ),
    "if_you_act": "If you act from {threshold} on: {advice}",
    "again": "These numbers again, as a verdict on the terminal:",
    "weighted_rows": " Weighted: {effective} effective rows.",
    "weighted_groups": " Weighted: {effective} effective groups.",
    "curve cross-fitted": " Recalibrated: cross-validated.",
    "curve isotonic": " Recalibrated: in hindsight, so optimistic.",
    "curve given": " Recalibrated: no map can be fitted.",
    "about_curve": (
        "Net benefit: cases with the event that are acted on, per case, less false alarms, each "
        "of which counts t / (1 - t) at the threshold t; on these rows. Recalibrated: "
        "{recalibrated}. Gain: what acting on the forecast saves over the better of always and "
        "never acting, where a false alarm costs t and a miss 1 - t. Grey: where the blue line "
        "of a calibrated forecast with these predictions would lie ({level} at each threshold), "
        "as far as perfect foresight on these rows."
    ),
    "about cross-fitted": (
        "five-fold cross-validated, like costs and skill above: no case is judged by a map that "
        "was fitted to it"
    ),
    "about isotonic": (
        "the best map that keeps the ranking, fitted to these same cases, so optimistic"
    ),
    "about given": "as they are, because no map can be fitted to these cases",
    "curve_band": (
        "{curve} Band of the net benefit: {level} intervals, approximate, for each threshold by "
        "itself."
    ),
    "about_reliability": (
        "Points: the event rate of predictions near each point, with {level} intervals; pale: "
        "of fewer than {pale} rows. Grey: what chance makes of a calibrated forecast.{frame} "
        "Bars: the predictions (dark: rows with the event)."
    ),
    "beyond_frame": " A point on the frame lies beyond it.",
    "about_calibration": (
        "Line: event rate against predicted risk, smoothed (a triangular kernel of half-width "
        "1/{grid}). Band: {level} intervals, each by itself{grouped}. Pale points: fewer than "
        "{pale} rows."
    ),
    "as_if_independent": ", with rows as if independent",
    "costs_stated": (
        "Cost per case, in your units, on {rows}, with approximate {level} intervals; maps and "
        f"cut-offs are {_JUDGED}"
    ),
    "costs_entered": (
        "Cost per case at the costs entered above, on {rows}; recalibrated: cross-validated. "
        "Intervals are computed for the stated decision alone."
    ),
    "about_segments": (
        "p: of the test of perfect calibration, each segment by itself; q: the smallest false "
        "discovery rate that flags it (Benjamini and Hochberg); red: q at most {fdr}, these "
        "come first.{after} Losses are shares of what is at stake{in_decisions}, acting on "
        f"the probabilities as they are, {KEEPS_RANKING}; bounds at {{level}} for each segment "
        "by itself. No test and no dot: fewer than {fewest} rows.{drawn}"
    ),
    "q_after": (
        " q after recalibration: the same of the recalibrated predictions (five-fold "
        "cross-validated)."
    ),
    "first_drawn": " The chart shows the first {count}.",
    "more_segments": "{count} more segments are not on this page.",
    "method_grid": (
        "The regret curve and the reliability diagram use the grid of the guarantee for rounded "
        "probabilities, 1/{grid}. Intervals of event rates: {intervals}."
    ),
    "method_test": (
        "The test redraws all outcomes {count} times as if the probabilities were right."
    ),
    "method_compressed": "The rows were compressed to a grid of {count} cells, which keeps SCDL.",
    "method_seed": "Random numbers: seed {seed}. rainproof {version}.",
    "method_generator": "Random numbers: a generator of the caller. rainproof {version}.",
    "source": "{measures}: {reference}.",
}

TEMPLATES: Mapping[str, str | tuple[str, str]] = {
    **_PARTS,
    **_FIRST_SCREEN,
    **_DETAILS,
    **_SEGMENTS,
    **_FORECASTS,
    **_REPORT,
}
