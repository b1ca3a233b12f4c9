module github.com/berth-proxy/berth/tests

go 1.26.0

require (
	github.com/berth-proxy/berth/api v0.0.0-00010101000000-000000000000
	github.com/berth-proxy/berth/proto v0.0.0
	github.com/google/go-cmp v0.7.0
	go.uber.org/goleak v1.3.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
	sigs.k8s.io/yaml v1.6.0
)

require (
	go.yaml.in/yaml/v2 v2.4.3 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
)

replace github.com/berth-proxy/berth/api => ../api

replace github.com/berth-proxy/berth/proto => ../proto

replace github.com/berth-proxy/berth/controlplane => ../controlplane

replace github.com/berth-proxy/berth/dataplane-agent => ../dataplane-agent
