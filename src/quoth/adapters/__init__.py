"""One file for each foreign library; nothing else imports that library."""
