"""What kube-apiserver adds to the language."""
