/* Preloaded by processes whose clock is wrong by CLOCK_SHIFT_MS milliseconds. */

const shiftMs = Number(process.env["CLOCK_SHIFT_MS"]);
const SystemDate = Date;

globalThis.Date = class extends SystemDate {
  constructor(...args: [] | [number]) {
    if (args.length === 0) super(SystemDate.now() + shiftMs);
    else super(...args);
  }

  static override now(): number {
    return SystemDate.now() + shiftMs;
  }
} as DateConstructor;
