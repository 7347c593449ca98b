"""The timeline: rules as pure functions, a model with undo, a painted view and its table twin."""
