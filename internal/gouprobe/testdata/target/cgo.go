package main

import "C" // with cgo, the program is linked with that of C
