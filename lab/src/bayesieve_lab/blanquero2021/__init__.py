"""The study of Blanquero, Carrizosa, Ramirez-Cobo & Sillero-Denamiel (2021)."""
