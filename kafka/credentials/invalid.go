package credentials

// Invalid is the error for a string that can't be parsed. It never contains a secret.
type Invalid struct {
	// Problem describes what is wrong, and Remedy how to fix it.
	Problem, Remedy string
}

// Error returns both.
func (e *Invalid) Error() string { return e.Problem + "; " + e.Remedy }

func invalid(problem, remedy string) error { return &Invalid{Problem: problem, Remedy: remedy} }
