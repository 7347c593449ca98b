"""Attention and paging operations, one public function each in `ops`."""
