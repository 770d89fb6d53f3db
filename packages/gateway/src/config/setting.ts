import type { JsonObject } from "@deltawire/wire";
import type { Secret } from "./secret.ts";

/** A line of the table. */
export interface Setting {
  /** `*` stands for a name that the user chooses. */
  readonly path: string;
  readonly type: SettingType;
  /** Filled in where the file says nothing. */
  readonly default?:
    | string
    | number
    | boolean
    | readonly string[]
    | Readonly<Record<string, never>>;
  /** What happens without it, where no value can say it. */
  readonly otherwise?: string;
  /** An error if it is missing; this says what to write. */
  readonly required?: string;
  /** The only ones it may have. */
  readonly words?: readonly string[];
  readonly least?: number;
  readonly most?: number;
  readonly description: string;
}

export type SettingType = keyof SettingValues;

/** What a setting of each type is decoded to. */
export interface SettingValues {
  string: string;
  /** A text, or `env:NAME`. */
  secret: Secret;
  integer: number;
  number: number;
  boolean: boolean;
  word: string;
  "list of strings": readonly string[];
  "list of secrets": readonly Secret[];
  "list of words": readonly string[];
  "string or list": readonly string[];
  "word or list": string | readonly string[];
  "table of strings": Readonly<Record<string, string>>;
  "table of secrets": Readonly<Record<string, Secret>>;
  /** For a program: unlike a header, they may be empty or have several lines. */
  "table of variables": Readonly<Record<string, Secret>>;
  table: Readonly<Record<string, unknown>>;
  /** What can be part of a request. */
  "JSON table": JsonObject;
}
