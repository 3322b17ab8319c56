"""Extensions of the language that its authors maintain: strings, lists, sets, base64."""
