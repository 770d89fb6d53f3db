export interface Route {
  method: "GET" | "POST" | "DELETE";
  /** With one `{…}` at the most. */
  path: string;
  name: string;
  /** Needs no token. */
  open: boolean;
  /** What stands for `{…}` may have slashes, as the names of models have. */
  slashes?: true;
  summary: string;
}
