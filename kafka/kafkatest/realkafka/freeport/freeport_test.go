package freeport

import "testing"

func TestPortsAreOutsideTheKernelsOwn(t *testing.T) {
	ports, err := Take(50)
	if err != nil {
		t.Fatal(err)
	}
	defer Release(ports)
	seen := map[int]bool{}
	for _, p := range ports {
		if seen[p] || p >= Limit() {
			t.Errorf("port %d", p)
		}
		seen[p] = true
	}
}
