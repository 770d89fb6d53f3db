import type { JsonObject } from "@deltawire/wire";
import type { Secret } from "./secret.ts";

/** One row of the table of settings. */
export interface Setting {
  /** `*` is a name that the user chooses. */
  readonly path: string;
  readonly type: SettingType;
  /** The value if the setting is missing in the file. */
  readonly default?:
    | string
    | number
    | boolean
    | readonly string[]
    | Readonly<Record<string, never>>;
  /** Describes a default that is not a constant. */
  readonly defaultDescription?: string;
  /** If present, the setting is required. Says what to write; the end of the error message for a missing setting. */
  readonly required?: string;
  /** The allowed values of an enum. */
  readonly values?: readonly string[];
  readonly min?: number;
  readonly max?: number;
  readonly description: string;
  /** The name of the setting in earlier versions, which is still accepted with a warning. */
  readonly formerName?: string;
  /** Enum values of earlier versions, which are still accepted with a warning, with their replacements. */
  readonly formerValues?: Readonly<Record<string, string>>;
}

export type SettingType = keyof SettingValues;

/** The decoded type of each kind of setting. */
export interface SettingValues {
  string: string;
  /** A string or `env:NAME`. */
  secret: Secret;
  integer: number;
  number: number;
  boolean: boolean;
  enum: string;
  "list of strings": readonly string[];
  "list of secrets": readonly Secret[];
  "list of enums": readonly string[];
  "string or list": readonly string[];
  "enum or list": string | readonly string[];
  "table of strings": Readonly<Record<string, string>>;
  "table of secrets": Readonly<Record<string, Secret>>;
  /** Environment variables of a program: unlike headers, they may be empty or have several lines. */
  "table of variables": Readonly<Record<string, Secret>>;
  table: Readonly<Record<string, unknown>>;
  /** Contains only JSON values, so that it can be sent in a request. */
  "JSON table": JsonObject;
}
