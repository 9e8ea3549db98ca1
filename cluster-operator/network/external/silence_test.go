package external

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestOneCallFindsOutWhetherAProgramAnswersAgain(t *testing.T) {
	g := NewWithT(t)
	s, silent := &silence{}, errors.New("no answer")
	g.Expect(s.lasts(time.Hour)).To(Succeed())
	g.Expect(s.lasts(time.Hour)).To(Succeed(), "nobody waits for others while it answers")
	s.note(silent, time.Hour)
	g.Expect(s.lasts(time.Hour)).To(Equal(silent))
	s.note(silent, 0)
	g.Expect(s.lasts(time.Hour)).To(Succeed(), "the silence is over, and this call tries")
	g.Expect(s.lasts(time.Hour)).To(Equal(silent), "others do not wait for it")
	s.note(nil, 0)
	g.Expect(s.lasts(time.Hour)).To(Succeed())
	g.Expect(s.lasts(time.Hour)).To(Succeed())
}
