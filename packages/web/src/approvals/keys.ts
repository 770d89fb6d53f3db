/* Of the oldest question in the tray. */

export const approveKey = "y";
export const denyKey = "d";
