package admission

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// defaultSecret takes what was written as text into the data, where it wins over the same key.
func defaultSecret(s *corev1.Secret) {
	if s.Type == "" {
		s.Type = corev1.SecretTypeOpaque
	}
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for key, text := range s.StringData {
		s.Data[key] = []byte(text)
	}
	s.StringData = nil
}

// validateSecret does not look into certificates: that a key is there is the API's business, what it holds is the compiler's.
func validateSecret(s *corev1.Secret) field.ErrorList {
	var errs field.ErrorList
	path, size := field.NewPath("data"), 0
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		errs = append(errs, invalid(path.Key(key), key, validation.IsConfigMapKey)...)
		size += len(s.Data[key])
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(path, "", corev1.MaxSecretSize))
	}
	if s.Type == corev1.SecretTypeTLS {
		for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
			if _, ok := s.Data[key]; !ok {
				errs = append(errs, field.Required(path.Key(key), "a Secret of type "+string(s.Type)+" has it"))
			}
		}
	}
	return errs
}
