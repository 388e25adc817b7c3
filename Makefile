# Two commands for a fresh Debian 12, as root: `make demo` and `make test`. CMake does the work; this file only calls it.
#   make            build into build/
#   make demo       install what is missing, build, run the examples
#   make test       install what is missing, build, run every test, also under sanitizers
#   make install    into PREFIX (/usr/local)
#   make golden     write the compiler's expected outputs anew; read the difference before it is committed
#   make clean
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: all setup demo test install golden format clean

all: setup
	scripts/build.sh build release -j $(JOBS)

setup:
	@scripts/setup.sh

demo: setup
	scripts/build.sh build release --target demo -j $(JOBS)
	scripts/demo.sh

test: setup
	scripts/test.sh -j $(JOBS)

install: all
	cmake --install build --prefix $(PREFIX)

golden: all
	bash tests/khalc/run.sh golden build/khalc "$$(sed -n 's/^KHAL_CLANG:FILEPATH=//p' build/CMakeCache.txt)" --update
	bash tests/khalc/run.sh error build/khalc "$$(sed -n 's/^KHAL_CLANG:FILEPATH=//p' build/CMakeCache.txt)" --update

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf build build-asan build-tsan
