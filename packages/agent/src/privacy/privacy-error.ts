export type PrivacyErrorCode = "bad_fields" | "pattern_too_slow";

/** A text cannot be masked as the settings say, and so it must not leave. */
export class PrivacyError extends Error {
  readonly code: PrivacyErrorCode;

  constructor(code: PrivacyErrorCode, message: string) {
    super(message);
    this.name = "PrivacyError";
    this.code = code;
  }
}
