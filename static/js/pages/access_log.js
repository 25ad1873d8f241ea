/* The access log: moments in local time; the table is the server's. */
import { paintMoments } from "../sharing/expiry.js";

paintMoments();
