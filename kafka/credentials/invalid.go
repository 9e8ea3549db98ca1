package credentials

// Invalid is the error for a text that can't be understood. It never holds a secret.
type Invalid struct {
	// Problem is what is wrong, and Remedy what to do.
	Problem, Remedy string
}

// Error returns both.
func (e *Invalid) Error() string { return e.Problem + "; " + e.Remedy }

func invalid(problem, remedy string) error { return &Invalid{Problem: problem, Remedy: remedy} }
