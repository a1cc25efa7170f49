/* Instructions of PTX, also those that the lanes of a warp run together. The driver puts them in place of the asm
 * statements of a text: the name is the instruction's with underscores, the parameters are its operands in order. */
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
  vtd_place.collective(line, VtdMma<8, 8, 16>::compute, &own);
  d0 = own.d[0];
  d1 = own.d[1];
}

static inline void mma_sync_aligned_m16n8k32_row_col_s32_s8_s8_s32(int line, int& d0, int& d1, int& d2, int& d3,
                                                                   unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                                                   unsigned b0, unsigned b1, int c0, int c1, int c2,
                                                                   int c3) {
  VtdMma<16, 8, 32> own = {{a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3}, {}};
  vtd_place.collective(line, VtdMma<16, 8, 32>::compute, &own);
  d0 = own.d[0];
  d1 = own.d[1];
  d2 = own.d[2];
  d3 = own.d[3];
}

static inline void cvt_f32_f16(int, float& value, unsigned short bits) {
  value = (float)__builtin_bit_cast(_Float16, bits);
}

#endif
