package roller

import "time"

// notAfter moves all times that lie in the future to now. A roller on a machine whose clock was ahead has stored them: waiting for them
// would block the roll for as long as the clocks differ. It changes p, which must be a clone.
func (p *Progress) notAfter(now time.Time) {
	past := func(times ...*time.Time) {
		for _, t := range times {
			if t.After(now) {
				*t = now
			}
		}
	}
	for id, r := range p.Restarts {
		if before := r.Before; before != nil {
			b := *before
			past(&b.At, &b.Ready, &b.Improved, &b.Unread)
			r.Before = &b
		}
		past(&r.At, &r.Ready, &r.Improved, &r.Unread)
		p.Restarts[id] = r
	}
	for id, a := range p.Alterations {
		past(&a.At)
		p.Alterations[id] = a
	}
	for id, d := range p.Denied {
		past(&d.At, &d.Since)
		p.Denied[id] = d
	}
	for id, b := range p.Returned {
		past(&b.At)
		p.Returned[id] = b
	}
	for _, since := range []map[NodeID]time.Time{p.Waiting, p.Failing} {
		for id, t := range since {
			past(&t)
			since[id] = t
		}
	}
	for i := range p.Refusals {
		past(&p.Refusals[i].Last)
	}
	if p.Ring != nil {
		ring := *p.Ring
		past(&ring.Since)
		p.Ring = &ring
	}
	past(&p.Told, &p.Leaderless, &p.Unled, &p.Witnessed, &p.Back, &p.Elected)
}
