package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// A Dir is the folder of a directory source.
type Dir string

// Put writes objects, each into a file of its own, in order. It stops at the first that cannot be written.
func (d Dir) Put(objects ...Object) error {
	for _, o := range objects {
		text, err := Encode(o)
		if err != nil {
			return err
		}
		if err := d.Write(o.ID().file(), text); err != nil {
			return err
		}
	}
	return nil
}

// Encode gives an object's YAML with its apiVersion and kind filled in.
func Encode(o Object) ([]byte, error) {
	switch v := o.(type) {
	case Service:
		v.TypeMeta = TypeMeta{"v1", "Service"}
		o = v
	case EndpointSlice:
		v.TypeMeta = TypeMeta{"discovery.k8s.io/v1", "EndpointSlice"}
		o = v
	case Ingress:
		v.TypeMeta = TypeMeta{"networking.k8s.io/v1", "Ingress"}
		o = v
	case IngressClass:
		v.TypeMeta = TypeMeta{"networking.k8s.io/v1", "IngressClass"}
		o = v
	case Secret:
		v.TypeMeta = TypeMeta{"v1", "Secret"}
		o = v
	case Fleet:
		v.TypeMeta = TypeMeta{"berth.dev/v1alpha1", "Fleet"}
		o = v
	}
	text, err := yaml.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode %v as YAML: %w", o.ID(), err)
	}
	return text, nil
}

// Write puts a text of any kind into a file of the directory, by rename: for broken files and files of many objects.
func (d Dir) Write(name string, text []byte) error {
	f, err := os.CreateTemp(string(d), ".new-*")
	if err != nil {
		return fmt.Errorf("write %s into %s: %w", name, d, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(string(d), name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s into %s: %w", name, d, err)
	}
	return nil
}

// Delete removes an object's file. One that is not there is no error.
func (d Dir) Delete(ids ...ID) error {
	for _, i := range ids {
		if err := os.Remove(filepath.Join(string(d), i.file())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete %v: %w", i, err)
		}
	}
	return nil
}

func (i ID) file() string {
	parts := []string{strings.ToLower(i.Kind), i.Namespace, i.Name}
	if i.Namespace == "" {
		parts = []string{parts[0], i.Name}
	}
	return strings.Join(parts, "_") + ".yaml"
}
