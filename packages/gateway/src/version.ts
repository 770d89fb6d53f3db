/** Of all packages; a test compares it with their manifests. */
export const version = "0.1.0";
