/* Instructions of PTX, also those that the lanes of a warp run together. The driver puts them in place of the asm
 * statements of a text: the name is the instruction's with underscores, the parameters are its operands in order.
 * Instructions of AMD's GPUs are the compiler's built-in functions. */
#ifndef VECTIS_TEST_DRIVER_WARP_WORDS_H
#define VECTIS_TEST_DRIVER_WARP_WORDS_H

/* mma.sync of int8 with M rows of a, N columns of b and a depth of K. Which elements a lane holds is as the PTX ISA
 * defines it, under "Matrix Fragments for mma.m8n8k16" and "for mma.m16n8k32": its formulas for the larger shape are
 * those of the smaller one for the elements that this one has. */
template <int M, int N, int K>
struct VtdMma {
  static constexpr int lanes = 32;
  unsigned a[M * K / lanes / 4];
  unsigned b[K * N / lanes / 4];
  int c[M * N / lanes];
  int d[M * N / lanes];

  static int byte_of(const unsigned* words, int i) { return (signed char)(words[i / 4] >> (8 * (i % 4))); }

  static void compute(void* const* of_lanes) {
    int a[M][K], b[K][N], c[M][N];
    for (int lane = 0; lane < lanes; ++lane) {
      const VtdMma& own = *static_cast<const VtdMma*>(of_lanes[lane]);
      const int group_id = lane >> 2;
      const int in_group = lane % 4;
      for (int i = 0; i < M * K / lanes; ++i) {
        const int row = i < 4 || (i >= 8 && i < 12) ? group_id : group_id + 8;
        const int column = in_group * 4 + (i & 3) + (i < 8 ? 0 : 16);
        a[row][column] = byte_of(own.a, i);
      }
      for (int i = 0; i < K * N / lanes; ++i)
        b[in_group * 4 + (i & 3) + (i < 4 ? 0 : 16)][group_id] = byte_of(own.b, i);
      for (int i = 0; i < M * N / lanes; ++i) c[i < 2 ? group_id : group_id + 8][in_group * 2 + (i & 1)] = own.c[i];
    }
    for (int row = 0; row < M; ++row) {
      for (int column = 0; column < N; ++column) {
        for (int k = 0; k < K; ++k) c[row][column] += a[row][k] * b[k][column];
      }
    }
    for (int lane = 0; lane < lanes; ++lane) {
      VtdMma& own = *static_cast<VtdMma*>(of_lanes[lane]);
      for (int i = 0; i < M * N / lanes; ++i) own.d[i] = c[i < 2 ? lane >> 2 : (lane >> 2) + 8][lane % 4 * 2 + (i & 1)];
    }
  }
};

static inline void mma_sync_aligned_m8n8k16_row_col_s32_s8_s8_s32(int line, int& d0, int& d1, unsigned a0, unsigned b0,
                                                                  int c0, int c1) {
  VtdMma<8, 8, 16> own = {{a0}, {b0}, {c0, c1}, {}};
  vtd_place.collective(line, VtdMma<8, 8, 16>::lanes, VtdMma<8, 8, 16>::compute, &own);
  d0 = own.d[0];
  d1 = own.d[1];
}

static inline void mma_sync_aligned_m16n8k32_row_col_s32_s8_s8_s32(int line, int& d0, int& d1, int& d2, int& d3,
                                                                   unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                                                   unsigned b0, unsigned b1, int c0, int c1, int c2,
                                                                   int c3) {
  VtdMma<16, 8, 32> own = {{a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}, {}};
  vtd_place.collective(line, VtdMma<16, 8, 32>::lanes, VtdMma<16, 8, 32>::compute, &own);
  d0 = own.d[0];
  d1 = own.d[1];
  d2 = own.d[2];
  d3 = own.d[3];
}

/* v_mfma_i32_16x16x16i8 and v_mfma_i32_16x16x32_i8, with BYTES of a row of a, and of a column of b, in a lane. Which
 * elements a lane holds is as AMD's CDNA ISA documents define it, under "Matrix Arithmetic Instructions". */
typedef int VtdInt4 __attribute__((vector_size(16)));

template <int BYTES>
struct VtdMfma {
  static constexpr int lanes = 64;
  static constexpr int side = 16;
  unsigned long long a, b;
  VtdInt4 c, d;

  static int byte_of(unsigned long long bytes, int i) { return (signed char)(bytes >> (8 * i)); }

  static void compute(void* const* of_lanes) {
    constexpr int depth = BYTES * lanes / side;
    int a[side][depth], b[depth][side], c[side][side];
    for (int lane = 0; lane < lanes; ++lane) {
      const VtdMfma& own = *static_cast<const VtdMfma*>(of_lanes[lane]);
      for (int i = 0; i < BYTES; ++i) {
        a[lane % side][BYTES * (lane / side) + i] = byte_of(own.a, i);
        b[BYTES * (lane / side) + i][lane % side] = byte_of(own.b, i);
      }
      for (int i = 0; i < 4; ++i) c[4 * (lane / side) + i][lane % side] = own.c[i];
    }
    for (int row = 0; row < side; ++row) {
      for (int column = 0; column < side; ++column) {
        for (int k = 0; k < depth; ++k) c[row][column] += a[row][k] * b[k][column];
      }
    }
    for (int lane = 0; lane < lanes; ++lane) {
      VtdMfma& own = *static_cast<VtdMfma*>(of_lanes[lane]);
      for (int i = 0; i < 4; ++i) own.d[i] = c[4 * (lane / side) + i][lane % side];
    }
  }

  static VtdInt4 run(int line, unsigned long long a, unsigned long long b, VtdInt4 c) {
    VtdMfma own = {a, b, c, {}};
    vtd_place.collective(line, lanes, compute, &own);
    return own.d;
  }
};

/* Only for the GPUs that have the instruction, and without the permutations that the last operands select. */
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
static inline VtdInt4 vtd_mfma_32(int line, long long a, long long b, VtdInt4 c, int cbsz, int abid, int blgp) {
  if (cbsz != 0 || abid != 0 || blgp != 0) __builtin_trap();
  return VtdMfma<8>::run(line, (unsigned long long)a, (unsigned long long)b, c);
}
#define __builtin_amdgcn_mfma_i32_16x16x32_i8(...) vtd_mfma_32(__LINE__, __VA_ARGS__)
#elif defined(__gfx908__) || defined(__gfx90a__)
static inline VtdInt4 vtd_mfma_16(int line, int a, int b, VtdInt4 c, int cbsz, int abid, int blgp) {
  if (cbsz != 0 || abid != 0 || blgp != 0) __builtin_trap();
  return VtdMfma<4>::run(line, (unsigned)a, (unsigned)b, c);
}
#define __builtin_amdgcn_mfma_i32_16x16x16i8(...) vtd_mfma_16(__LINE__, __VA_ARGS__)
#endif

static inline void cvt_f32_f16(int, float& value, unsigned short bits) {
  value = (float)__builtin_bit_cast(_Float16, bits);
}

#endif
