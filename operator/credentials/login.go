package credentials

import (
	"errors"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// credentialsMissing is Strimzi's text.
const credentialsMissing = "SASL credentials are not set"

// completeLogin builds a login from the settings.
func (s *Settings) completeLogin(r *settings.Reading) {
	if !r.OK(envSASLEnabled) {
		return
	}
	if !s.saslEnabled {
		s.completeNoLogin(r)
		return
	}
	if r.Given(envSASLCustom) {
		s.completeCustom(r)
		return
	}
	sasl := &s.Result.SASL
	mechanism, err := credentials.ParseMechanism(s.mechanism)
	if err != nil {
		r.Fail(envSASLMechanism, settings.Named(envSASLMechanism, s.mechanism, err))
	}
	sasl.Mechanism = mechanism
	if s.onePassword(r, envSASLPassword, sasl.Password) && sasl.Secret == "" && r.OK(envSASLSecret) {
		if sasl.Username == "" {
			r.Reject(envSASLUsername, "", credentialsMissing, "set it, or name a Secret with "+envSASLSecret)
		}
		if sasl.Password.IsEmpty() && s.Files.Password == "" {
			r.Reject(envSASLPassword, "", credentialsMissing, "set it, or name a Secret with "+envSASLSecret)
		}
	}
}

// completeNoLogin drops the settings of a login.
func (s *Settings) completeNoLogin(r *settings.Reading) {
	for _, env := range []string{envSASLMechanism, envSASLUsername, envSASLPassword, envSASLSecret, envPasswordFile, envSASLCustom} {
		if r.Given(env) {
			r.Warn("%s has no effect: %s is not true, so the client does not log in", env, envSASLEnabled)
		}
	}
	s.Result.SASL, s.Files.Password = credentials.SASL{}, ""
}

// onePassword requires that at most one place contains the password. env is the variable for it outside of Secrets and files.
func (s *Settings) onePassword(r *settings.Reading, env string, password credentials.Masked) bool {
	switch {
	case s.Result.SASL.Secret != "" && s.Files.Password != "":
		r.Reject(envPasswordFile, s.Files.Password, envSASLSecret+" is set too", "keep the password in one place: unset "+envPasswordFile)
	case s.Files.Password != "" && !password.IsEmpty():
		r.Reject(env, credentials.Mask, envPasswordFile+" is set too", "keep the password in one place: unset one of them")
	case s.Result.SASL.Secret != "" && !password.IsEmpty():
		r.Reject(env, credentials.Mask, envSASLSecret+" is set too", "keep the password in one place: remove it from "+env)
	default:
		return true
	}
	return false
}

// completeCustom lets STRIMZI_SASL_CUSTOM_CONFIG_JSON replace the simple settings, with a warning. Strimzi ignores those silently.
func (s *Settings) completeCustom(r *settings.Reading) {
	sasl := &s.Result.SASL
	elsewhere := sasl.Secret != "" || s.Files.Password != ""
	warnOfReplaced(r, elsewhere)
	custom, err := credentials.ParseCustomSASL(s.custom.Reveal())
	if err != nil {
		for _, e := range flatten(err) {
			r.Fail(envSASLCustom, settings.Named(envSASLCustom, credentials.Mask, e))
		}
		return
	}
	name, secret := loginOf(&custom)
	if elsewhere && *name == "" {
		*name = sasl.Username
	}
	noName := *name == "" && sasl.Secret == ""
	if s.onePassword(r, envSASLCustom, *secret) && r.OK(envSASLSecret) && (noName || secret.IsEmpty() && !elsewhere) {
		r.Reject(envSASLCustom, credentials.Mask, credentialsMissing,
			"put them in sasl.jaas.config, for OAUTHBEARER in "+credentials.PropertyClientID+" and "+credentials.PropertyClientSecret+
				", or name a Secret with "+envSASLSecret)
	}
	custom.Secret = sasl.Secret
	*sasl = custom
}

// warnOfReplaced warns about simple settings beside STRIMZI_SASL_CUSTOM_CONFIG_JSON. The username still applies if the password is in a
// Secret or a file.
func warnOfReplaced(r *settings.Reading, elsewhere bool) {
	for _, env := range []string{envSASLMechanism, envSASLPassword, envSASLUsername} {
		if r.Given(env) && (env != envSASLUsername || !elsewhere) {
			r.Warn("%s has no effect beside %s", env, envSASLCustom)
		}
	}
}

// loginOf returns the places of user and password, or of client and secret for OAUTHBEARER.
func loginOf(s *credentials.SASL) (name *string, secret *credentials.Masked) {
	if s.OAuth != nil {
		return &s.OAuth.ClientID, &s.OAuth.ClientSecret
	}
	return &s.Username, &s.Password
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
