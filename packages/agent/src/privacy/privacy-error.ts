export type PrivacyErrorCode = "bad_fields" | "pattern_too_slow";

/** Thrown if text cannot be masked as configured. It must not be sent. */
export class PrivacyError extends Error {
  readonly code: PrivacyErrorCode;

  constructor(code: PrivacyErrorCode, message: string) {
    super(message);
    this.name = "PrivacyError";
    this.code = code;
  }
}
