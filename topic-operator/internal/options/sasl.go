package options

import (
	"errors"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// credentialsMissing is Strimzi's text.
const credentialsMissing = "SASL credentials are not set"

// completeSASL turns the raw settings into a login.
func (d *draft) completeSASL() {
	if !d.ok(envSASLEnabled) {
		return
	}
	if !d.saslEnabled {
		for _, env := range []string{envSASLMechanism, envSASLUsername, envSASLPassword, envSASLSecret, envSASLCustom} {
			if d.given[env] {
				d.warn("%s has no effect: %s is not true, so the operator does not log in", env, envSASLEnabled)
			}
		}
		d.SASL = SASL{}
		return
	}
	if d.given[envSASLCustom] {
		d.completeCustomSASL()
		return
	}
	d.completeMechanism()
	switch {
	case d.SASL.Secret != "" && !d.SASL.Password.IsEmpty():
		d.contradiction(envSASLPassword, credentials.Mask, envSASLSecret+" is set too", "keep the password in one place: unset "+envSASLPassword)
	case d.SASL.Secret == "" && d.ok(envSASLSecret):
		d.requireCredentials()
	}
}

func (d *draft) completeMechanism() {
	mechanism, err := credentials.ParseMechanism(d.mechanism)
	if err != nil {
		d.fail(envSASLMechanism, settingError(envSASLMechanism, d.mechanism, err))
	}
	d.SASL.Mechanism = mechanism
}

func (d *draft) requireCredentials() {
	if d.SASL.Username == "" {
		d.contradiction(envSASLUsername, "", credentialsMissing, "set it, or name a Secret with "+envSASLSecret)
	}
	if d.SASL.Password.IsEmpty() {
		d.contradiction(envSASLPassword, "", credentialsMissing, "set it, or name a Secret with "+envSASLSecret)
	}
}

// completeCustomSASL lets STRIMZI_SASL_CUSTOM_CONFIG_JSON replace the simple settings. Strimzi ignores those silently then.
func (d *draft) completeCustomSASL() {
	ignored := []string{envSASLMechanism, envSASLPassword}
	if d.SASL.Secret == "" {
		ignored = append(ignored, envSASLUsername)
	}
	for _, env := range ignored {
		if d.given[env] {
			d.warn("%s has no effect beside %s", env, envSASLCustom)
		}
	}
	custom, err := credentials.ParseCustomSASL(d.customJSON.Reveal())
	if err != nil {
		for _, e := range flatten(err) {
			d.fail(envSASLCustom, settingError(envSASLCustom, credentials.Mask, e))
		}
		return
	}
	name, secret := &custom.Username, &custom.Password
	if custom.OAuth != nil {
		name, secret = &custom.OAuth.ClientID, &custom.OAuth.ClientSecret
	}
	switch {
	case d.SASL.Secret != "" && !secret.IsEmpty():
		d.contradiction(envSASLCustom, credentials.Mask, "it holds a password or client secret, but "+envSASLSecret+" is set too", "keep it in one place")
	case d.SASL.Secret == "" && d.ok(envSASLSecret) && (*name == "" || secret.IsEmpty()):
		d.contradiction(envSASLCustom, credentials.Mask, credentialsMissing,
			"put them in sasl.jaas.config, for OAUTHBEARER in "+credentials.PropertyClientID+" and "+credentials.PropertyClientSecret+", or name a Secret with "+envSASLSecret)
	}
	if d.SASL.Secret != "" && *name == "" {
		*name = d.SASL.Username
	}
	custom.Secret = d.SASL.Secret
	d.SASL = custom
}

// warnOfClearText tells about a login that anyone on the way can read. SCRAM does not send the password.
func (d *draft) warnOfClearText() {
	if d.SecurityProtocol != credentials.ProtocolSASLPlaintext {
		return
	}
	switch d.SASL.Mechanism {
	case kafka.SASLPlain:
		d.warn("the password crosses the network in the clear: %s is %s; use %s", envProtocol, d.SecurityProtocol, credentials.ProtocolSASLSSL)
	case kafka.SASLOAuthBearer:
		d.warn("the token crosses the network in the clear: %s is %s; use %s", envProtocol, d.SecurityProtocol, credentials.ProtocolSASLSSL)
	case kafka.SASLScramSHA256, kafka.SASLScramSHA512:
	}
}

// flatten returns the errors that were joined.
func flatten(err error) []error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}
