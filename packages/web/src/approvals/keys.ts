/* Of the oldest question in the tray. */

export const approveKey = "mod+enter";
export const denyKey = "mod+backspace";
