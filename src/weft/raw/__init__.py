"""Raw data: which files, how they are written, what their rows say, and an instance made of them in memory."""
