import type { StoreErrorCode } from "@deltawire/tasks";

/** The codes of failures of the database or the file system. */
export type DatabaseErrorCode = Exclude<StoreErrorCode, "lease_lost" | "id_taken">;

/** The only error that this package throws deliberately. Its message says what to do. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "StoreError";
    this.code = code;
  }
}
