module github.com/berth-proxy/berth/tests

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	golang.org/x/net v0.62.0 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)

replace github.com/berth-proxy/berth/api => ../api

replace github.com/berth-proxy/berth/proto => ../proto

replace github.com/berth-proxy/berth/controlplane => ../controlplane

replace github.com/berth-proxy/berth/dataplane-agent => ../dataplane-agent
