package controller

import (
	"context"
	"crypto"
	"errors"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
)

// foresee refuses a Kafka without nodes whose certificates can't be made, or whose pods Kubernetes would reject, before anything is made
// for it: load balancers that no node ever serves cost money. Later steps do the same with what is known by then; here, nodes have no
// addresses yet.
func (p *pass) foresee(ctx context.Context) error {
	if len(p.away) > 0 || len(p.existing()) > 0 || len(p.nodePods()) > 0 {
		return nil
	}
	in := p.pkiInput(ctx, p.pkiNodes())
	in.NewKey = func(pki.Use) (crypto.Signer, error) { return pki.GenerateKey(pki.ForLeaf) } // nobody gets it, and an RSA key takes long
	plan, err := pki.Plan(in)
	if err != nil {
		return p.refusedCertificates(err)
	}
	rendered := map[*site]model.Result{}
	for _, s := range p.sites {
		at := p.at(s)
		at.Certificates.PodAnnotations = plan.PodAnnotations
		if rendered[s], err = model.Render(at, p.live()); err != nil {
			return stalled("InvalidResourceException", "%s", err)
		}
	}
	return p.checkPods(ctx, rendered)
}

// refusedCertificates returns the failure of a pass for an error of pki.Plan.
func (p *pass) refusedCertificates(err error) error {
	e, is := errors.AsType[*pki.Error](err)
	if !is {
		return err
	}
	if away := p.firstAway(); away != nil && e.Reason == pki.ReasonUnknown && e.Err == nil {
		return away // which is why it is not known what certificates hang on
	}
	return &Failure{Problem: status.Problem{Reason: e.Reason, Message: e.Error(), Stalled: e.Reason != pki.ReasonUnknown}, Err: err}
}
