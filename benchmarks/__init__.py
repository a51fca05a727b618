"""How fast brolly is, beside what people use today: ``python -m benchmarks`` from the root of the repository."""
