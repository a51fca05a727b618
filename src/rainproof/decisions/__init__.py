"""Decision tasks, the loss of acting on predictions, the decision that loses most, and policies."""

from rainproof.core import lazy

__getattr__, __dir__ = lazy(__name__)
