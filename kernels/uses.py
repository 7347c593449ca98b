"""What a backend may be asked for, by name; light, so that settings can be checked before torch is loaded."""

from __future__ import annotations

from typing import Literal

Use = Literal["auto", "torch", "triton", "gluon"]
