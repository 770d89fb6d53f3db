/** The version of all packages. A test compares it with their package.json files. */
export const version = "0.1.0";
