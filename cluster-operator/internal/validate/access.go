package validate

import (
	"fmt"
	"strings"
	"unicode"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
)

// Defaults for the validity and renewal of certificates. Source: Strimzi.
const (
	defaultValidityDays = 365
	defaultRenewalDays  = 30
)

// authorities checks authorization, and the issuer and the renewal of each CA.
func (f *findings) authorities() {
	f.authorization()
	for _, ca := range []struct {
		path string
		spec *v1.CertificateAuthority
	}{{".spec.clusterCa", f.Kafka.Spec.ClusterCa}, {".spec.clientsCa", f.Kafka.Spec.ClientsCa}} {
		f.issuer(ca.path, or(ca.spec, v1.CertificateAuthority{}))
		f.renewal(ca.path, ca.spec)
	}
}

// issuer rejects issuers other than the operator, because clients would not trust their CA. type: strimzi and strimzi.io, the names of
// different Strimzi versions, mean the operator.
func (f *findings) issuer(path string, ca v1.CertificateAuthority) {
	field := ""
	switch {
	case ca.Type != "" && ca.Type != "strimzi" && ca.Type != "strimzi.io":
		field = fmt.Sprintf("type: %s", ca.Type)
	case ca.CertManager != nil:
		field = "certManager"
	default:
		return
	}
	f.fail("IssuerUnsupported", v1.ReasonUnsupportedField, "%s.%s is not supported, only certificates that the operator issues: remove it. "+
		"To issue them with a CA of your own, set generateCertificateAuthority: false and provide its Secrets; for clients alone, set "+
		"configuration.brokerCertChainAndKey of listeners", path, field)
}

func (f *findings) renewal(path string, ca *v1.CertificateAuthority) {
	if ca == nil || !or(ca.GenerateCertificateAuthority, true) {
		return
	}
	validity, renewal := or(ca.ValidityDays, defaultValidityDays), or(ca.RenewalDays, defaultRenewalDays)
	if int(validity) > pki.MaxValidityDays {
		f.invalid("ValidityTooLong", "%s.validityDays is %d: a certificate is valid for %d days at most", path, validity, pki.MaxValidityDays)
	}
	if renewal >= validity {
		f.invalid("RenewalTooLong",
			"%s.renewalDays is %d and validityDays is %d: a certificate would be due for renewal when it is issued. Use fewer renewalDays",
			path, renewal, validity)
	}
}

// authorization refuses what would leave a cluster open to anybody if it was ignored.
func (f *findings) authorization() {
	a := f.cluster().Authorization
	if a == nil {
		return
	}
	switch a.Type {
	case v1.AuthorizationOPA, v1.AuthorizationKeycloak:
		f.fail("AuthorizationRemoved", v1.ReasonUnsupportedField,
			"authorization is of type %s, which v1 does not define and this operator does not support: "+
				"use type custom, with an authorizerClass from the image or a volume", a.Type)
	case v1.AuthorizationCustom:
		if a.AuthorizerClass == "" {
			f.invalid("AuthorizerMissing", "authorization of type custom needs an authorizerClass")
		}
		f.classes("spec.kafka.authorization.authorizerClass", a.AuthorizerClass)
	}
	for _, item := range a.SuperUsers {
		user := model.SuperUser(item)
		switch {
		case user == "" || strings.ContainsAny(item+user, ";\n\r") && !strings.ContainsAny(item, `\`):
			f.invalid("SuperUser", "%q is not a super user: list one principal in each item of superUsers, such as CN=admin", item)
		case strings.ContainsFunc(user, unicode.IsControl) || strings.Contains(user, ";"):
			f.invalid("SuperUser", "%q is not a super user, because no name has a control character or a semicolon: write each backslash of a "+
				"name twice in superUsers", item)
		}
		if strings.HasPrefix(user, "User:") {
			f.warn("SuperUserWithPrefix", "SuperUserWithPrefix", "The super user %q is the principal User:%[1]s, which is probably nobody: "+
				"leave User: out", user)
		}
	}
}
