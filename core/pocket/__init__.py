"""The embedded world: procedural scenes, their prompts and their ground truth."""
