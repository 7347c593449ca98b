"""What the panels tell about a device and nobody measures: the size of its shared memory."""

from __future__ import annotations


def shared_memory(device_name: str) -> tuple[int, int]:
    """Bytes of shared memory a multiprocessor (the tier L0 of DESIGN 4), and the multiprocessors of the device.

    Both are 0 where kernels have no shared memory, as on a CPU.
    """
    if device_name == "cpu":
        return 0, 0
    import torch  # not at import: the window asks once the engine is there, and torch with it

    for index in range(torch.cuda.device_count()):
        device = torch.cuda.get_device_properties(index)
        if device_name in (device.name, f"cuda:{index}", "cuda"):
            return int(device.shared_memory_per_multiprocessor), int(device.multi_processor_count)
    return 0, 0
