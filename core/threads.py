"""Torch's own threads on a CPU, and who may have them."""

from __future__ import annotations

import threading

import torch


def stay_serial() -> None:
    """Keeps the calling thread's torch operations, however large, on the thread itself.

    OpenMP keeps a team for every thread that ever split an operation. Once the teams have more threads than the
    machine has cores, none of them waits awake any more, and every operation of the model pays for waking its
    own: blocks take twice as long from then on. So the threads beside the model's get no team.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    # Threads that begin later would take this over as well; another thread takes it back, for them alone.
    other = threading.Thread(target=torch.set_num_threads, args=(threads,))
    other.start()
    other.join()
