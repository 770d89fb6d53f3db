/** Thrown if a configuration cannot be migrated. The message contains the file and the line, but never the value of a setting. */
export class MigrationError extends Error {
  readonly code = "cannot_migrate";

  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "MigrationError";
  }
}
