package brokerconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"slices"
	"strconv"
)

// fingerprintLength is the number of hexadecimal digits of a fingerprint.
const fingerprintLength = 16

// Fingerprint identifies a set of changes: the same keys with the same wanted values, changed in the same way, have the same fingerprint in
// every process. The values before the change do not count, so that a value that changes again does not turn the same wish into a new one;
// see Before. It is empty if there is nothing to do.
//
// The mark of a reason to restart is that of Diff{Restart: ...} alone, because changes without a restart appear and disappear meanwhile.
func (d Diff) Fingerprint() string {
	if len(d.Restart) == 0 && !d.Live() {
		return ""
	}
	h := sha256.New()
	for name, changes := range [][]Change{d.Node, d.Global, d.Restart, d.StoredNode, d.StoredGlobal} {
		for _, c := range changes {
			write(h, strconv.Itoa(name), c.Key)
			if c.To != nil {
				write(h, *c.To)
			}
			write(h) // ends the change
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:fingerprintLength]
}

// Before identifies a set of changes by the values before the change, as Fingerprint does by the wanted ones. It is empty if there is
// nothing to do.
func (d Diff) Before() string {
	swapped := func(changes []Change) []Change {
		changes = slices.Clone(changes)
		for i := range changes {
			changes[i].To = changes[i].From
		}
		return changes
	}
	d.Node, d.Global, d.Restart = swapped(d.Node), swapped(d.Global), swapped(d.Restart)
	d.StoredNode, d.StoredGlobal = swapped(d.StoredNode), swapped(d.StoredGlobal)
	return d.Fingerprint()
}

// write adds texts to a hash, each with its length, so that different texts never result in the same bytes.
func write(h hash.Hash, texts ...string) {
	for _, s := range texts {
		_, _ = io.WriteString(h, strconv.Itoa(len(s))+":"+s) // a hash accepts all writes
	}
	_, _ = io.WriteString(h, strconv.Itoa(len(texts))+";")
}
