package kernel

// hasAPIC says that the tick is a vector of the CPU's own interrupt controller.
const hasAPIC = true
