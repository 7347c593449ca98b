"""The engine: memory, attention, models, evaluation. Never imports Qt."""
