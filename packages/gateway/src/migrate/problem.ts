/** Why a configuration cannot be migrated. Its message names the file and the line, and holds no value of a setting. */
export class MigrationError extends Error {
  readonly code = "cannot_migrate";

  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "MigrationError";
  }
}
