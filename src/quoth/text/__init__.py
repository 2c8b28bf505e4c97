"""What a text says, with exact offsets: its blocks, sentences, words and anchors. Knows no book and no question."""
