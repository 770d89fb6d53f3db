declare module "commonmark-spec" {
  /** The examples of the specification. A tab is written as `→`. */
  export const tests: readonly {
    readonly markdown: string;
    readonly html: string;
    readonly section: string;
    readonly number: number;
  }[];
}
