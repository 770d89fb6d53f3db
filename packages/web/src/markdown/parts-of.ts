const partSize = 40;

export interface Part<One> {
  from: number;
  part: readonly One[];
}

/** A list in parts of 40. */
export function partsOf<One>(all: readonly One[]): Part<One>[] {
  return Array.from({ length: Math.ceil(all.length / partSize) }, (_, nth) => {
    const from = nth * partSize;
    return { from, part: all.slice(from, from + partSize) };
  });
}
