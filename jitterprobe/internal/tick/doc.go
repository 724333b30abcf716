// Package tick reads the CPU's cycle counter and relates it to the shared
// clock: RDTSC on amd64 (Intel SDM volume 3, 19.17), CNTVCT_EL0 on arm64 (Arm
// ARM D12.1), neither of them elsewhere or with the build tag noasm. Whether the
// counter can be trusted is the kernel's word ([Usable]), not measured here.
package tick
