"""What all pages share: frame, look, pictures, bars, texts, and the terminal."""
